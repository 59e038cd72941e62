"""Bundles: files with campaigns that ran without a coordinator. They are imported here, and their signatures
checked."""
