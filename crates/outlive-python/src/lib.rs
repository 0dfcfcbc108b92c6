//! Placeholder, replaced at once.
