"""The built book in browsers: its pages, its widgets, JupyterLab."""
