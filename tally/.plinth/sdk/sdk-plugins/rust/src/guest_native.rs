use super::fail;
use crate::Error;
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;

/// Answers operations: a name and a whole message, to a whole message.
pub(crate) type Operations = Box<dyn Fn(&str, &[u8]) -> Vec<u8>>;

thread_local! {
    static OPERATIONS: RefCell<Vec<std::rc::Rc<Operations>>> = const { RefCell::new(Vec::new()) };
}

/// Puts what answers this thread's operations while `run` runs.
pub(crate) fn with_operations<T>(operations: Operations, run: impl FnOnce() -> T) -> T {
    struct Pop;
    impl Drop for Pop {
        fn drop(&mut self) {
            OPERATIONS.with_borrow_mut(Vec::pop);
        }
    }
    OPERATIONS.with_borrow_mut(|all| all.push(std::rc::Rc::new(operations)));
    let _pop = Pop;
    run()
}

/// Asks the host for an operation. Both are whole messages.
pub fn operate(operation: &str, request: &[u8]) -> Vec<u8> {
    match OPERATIONS.with_borrow(|all| all.last().cloned()) {
        Some(operations) => operations(operation, request),
        None => fail(&Error::unavailable(format!("{operation}: this program runs without a host; a test gives one with test::MockHost"))),
    }
}

/// Fills a buffer with randomness of the system.
pub fn random(to: &mut [u8]) {
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(to)).expect("the system gives no randomness");
}

/// Prints a line.
pub fn print(descriptor: u32, line: &str) {
    if descriptor == 1 {
        println!("{line}");
    } else {
        eprintln!("{line}");
    }
}

/// Natively there is nothing to export.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($name:ident => $handle:path) => {};
}
