"""What people read: tables from outcome tables and scores."""
