"""Grids of images without copies: `outlive.make_grid`, `outlive.save_image`, `outlive.Grid`.

Nothing is loaded here. PyTorch and NumPy are used where the program uses them and never required.
"""
