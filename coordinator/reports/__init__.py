"""The study's tables and charts of any campaign, and the report that holds them all."""
