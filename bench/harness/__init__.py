"""How the tasks beside this folder are measured, judged and shown."""
