//! The only IO on disk: one totally ordered log of writes, the current state in memory, and watchers.
