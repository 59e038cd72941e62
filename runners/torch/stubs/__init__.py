"""Stubs of CUDA's libraries. With them, torch can be imported without the packages that contain the real libraries."""
