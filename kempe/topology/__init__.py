"""What Kempe understands of a mechanism: its graph, the spanning tree, the joints that close loops."""
