"""The chapters and exercises for JupyterLab: a desk, its edition, what launch buttons open."""
