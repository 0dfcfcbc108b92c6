"""What the tests share: victims started three ways, black boxes, interpreters, cgroups."""
