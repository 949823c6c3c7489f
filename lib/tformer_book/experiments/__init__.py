"""Measurements that the chapters run: what the theorems predict, sampled, trained and counted."""
