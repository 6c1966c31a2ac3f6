use super::*;
use plinth::abi::{ContextObserved, FsFound};
use plinth::test::{self, MockHost};

#[test]
fn goldens() {
    test::goldens(&PLUGIN, ".");
}

#[test]
fn schema() {
    test::schema_matches::<Work>("state.schema.json");
}

#[test]
fn what_differs_is_told() {
    let index = index(2, &[("a.txt", 5, 1000, 0), ("both.txt", 1, 0, 1), ("both.txt", 1, 0, 2), ("gone.txt", 1, 0, 0), ("same.txt", 4, 2000, 0)]);
    let host = MockHost::new().file_below("project", ".git/HEAD", "ref: refs/heads/feature/x\n").file_below("project", ".git/index", index).answer(
        "fs.glob",
        |_: FsGlob| {
            let file =
                |path: &str, size, modified_ms| FileInfo { path: path.into(), kind: FILE_REGULAR.into(), size, modified_ms, ..FileInfo::default() };
            let files = vec![file("a.txt", 6, 1000), file("both.txt", 1, 0), file("new.txt", 1, 0), file("same.txt", 4, 2000)];
            Ok(FsFound { matched: 4, files, ..FsFound::default() })
        },
    );
    let work = host.run(work).unwrap();
    assert_eq!(work, Work { branch: "feature/x".into(), changed: lines(&["M a.txt", "U both.txt", "D gone.txt", "? new.txt"]), more: 0 });
    assert!(texts(&work).baseline.ends_with("\nM a.txt\nU both.txt\nD gone.txt\n? new.txt"));
}

#[test]
fn long_lists_are_cut() {
    let names: Vec<String> = (0..NAMED + 3).map(|n| format!("f{n:03}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0, 0)).collect();
    let host = MockHost::new()
        .file_below("project", ".git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
        .file_below("project", ".git/index", index(2, &entries))
        .answer("fs.glob", |_: FsGlob| Ok(FsFound::default()));
    let work = host.run(work).unwrap();
    assert_eq!((work.branch.as_str(), work.changed.len(), work.more), ("commit 0123456789ab", NAMED, 3));
    assert!(texts(&work).update.ends_with("\nand 3 more"));
}

#[test]
fn what_cannot_be_read_is_no_value() {
    let states = |host: MockHost| {
        let observed = Observe { location: plinth::abi::Location { git: true, ..Default::default() }, ..Observe::default() };
        let answer = host.run(|| test::call::<ContextObserved>(&PLUGIN, "plinth_context_observe", &observed)).unwrap();
        answer.sources[0].state.clone()
    };
    assert_eq!(states(MockHost::new()), "absent");
    let broken = MockHost::new().file_below("project", ".git/HEAD", "ref: refs/heads/main");
    assert_eq!(states(broken.clone().file_below("project", ".git/index", "DIRC")), "unavailable");
    assert_eq!(states(broken.file_below("project", ".git/index", index(4, &[]))), "unavailable");
}

#[test]
fn an_index_that_ends_early_is_broken() {
    let whole = index(3, &[("a.txt", 5, 1000, 0), ("dir/b", 1, 2000, 0)]);
    let entries = index::entries(&whole).unwrap();
    assert_eq!(entries[1], Entry { path: "dir/b".into(), size: 1, modified_ms: 2000, conflicted: false, file: true });
    for end in 0..whole.len() - 4 {
        assert!(index::entries(&whole[..end]).is_err(), "{end} of {} bytes", whole.len());
    }
}

/// An index with entries of a path, size, time in milliseconds, and stage.
fn index(version: u32, entries: &[(&str, u32, u32, u16)]) -> Vec<u8> {
    let mut index = b"DIRC".to_vec();
    index.extend(version.to_be_bytes());
    index.extend((entries.len() as u32).to_be_bytes());
    for (path, size, modified_ms, stage) in entries {
        let begin = index.len();
        let words = [0, 0, modified_ms / 1000, modified_ms % 1000 * 1_000_000, 0, 0, 0o100_644, 0, 0, *size];
        index.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        index.extend([0; 20]);
        index.extend((stage << 12 | path.len() as u16).to_be_bytes());
        index.extend(path.as_bytes());
        index.push(0);
        while (index.len() - begin) % 8 != 0 {
            index.push(0);
        }
    }
    index
}

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|line| (*line).into()).collect()
}
