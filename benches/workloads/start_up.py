"""Nothing at all: what is left is the start and the end of the interpreter."""
