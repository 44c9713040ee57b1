"""What more than one check asks of a component: its fields, its spout's callbacks, where a value comes from."""
