"""Records Hugging Face models: hooks, masks, tokens, and how they become a recording."""
