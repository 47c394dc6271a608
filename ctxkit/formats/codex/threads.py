from pathlib import Path


def thread_files(beside: Path, thread: str) -> list[Path]:
    folder = beside if beside.is_dir() else beside.parent
    return sorted(folder.glob(f"rollout-*-{thread}*.jsonl*"), reverse=True)
