"""Bundles: campaigns that ran away from any coordinator, imported from a file, and their signatures."""
