"""Operating system services: files written atomically, a lock for a folder, a child that ends with its parent."""
