"""Services of the operating system: atomic files, a lock for a folder, a child that ends with its parent, and free
memory."""
