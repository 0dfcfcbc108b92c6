"""What a scenario's cause has to look like in an answer of `outlive why`."""

# An evaluation that keeps its losses with their history is both; the second is no mistake.
ALSO_TRUE = {"evaluation_with_gradients": {"autograd_history_kept"}}
# Of what is kept, the line that keeps; these words are on it.
KEEPING = (".append(", "+=", "] = ", ".figure(", ".draw(")
KEPT = ("autograd_history_kept", "results_kept_in_loop")


def assert_cause(answer, scenario):
    """The right cause is first, at a line that keeps, and no wrong one is sure."""
    causes = answer["causes"]
    expected = scenario.header["cause"]
    assert causes, (expected, answer["holders"][:3], answer["intervention"])
    cause = causes[0]
    assert answer["cause"] == cause
    assert cause["id"] == expected, causes
    assert cause["evidence"], cause
    assert cause["fix"], cause
    assert cause["file"] == str(scenario.path), cause
    if expected in KEPT:
        assert any(word in cause["text"] for word in KEEPING), cause
    sure = {one["id"] for one in causes if one["confidence"] == "high"}
    assert sure <= {expected, *ALSO_TRUE.get(scenario.name, ())}, causes
