"""What a compiled mechanism can and cannot do: assembly, mobility."""
