"""Bundles: files with campaigns that ran without a coordinator. This package imports them and checks their
signatures."""
