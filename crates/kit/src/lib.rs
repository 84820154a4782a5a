//! The loop that runs every kind: observe, plan, act, report.
