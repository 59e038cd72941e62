"""Services of the operating system: files that appear whole, a lock for a folder, a child that ends with its parent."""
