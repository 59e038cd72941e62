"""What a campaign found: cells, ratios, summaries, the query language, comparison, history and export."""
