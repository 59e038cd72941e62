"""Stubs of CUDA's libraries, so that torch can be imported without the packages that contain them."""
