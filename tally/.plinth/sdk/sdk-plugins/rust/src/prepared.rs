/// A value that `config` or `prepare` makes and that calls read:
///
/// ```
/// use plinth::Prepared;
///
/// static GREETING: Prepared<String> = Prepared::new();
///
/// fn configure(greeting: String) -> plinth::Result<()> {
///     GREETING.set(greeting);
///     Ok(())
/// }
/// # configure("hello".into()).unwrap();
/// # assert_eq!(GREETING.get(), "hello");
/// ```
///
/// In a module it is set once, before the snapshot that every call starts from. In native
/// tests every thread has a value of its own, so that tests with other settings do not
/// meet; what a thread sets again is kept until the program ends.
pub struct Prepared<T: 'static> {
    cell: inner::Cell<T>,
}

impl<T> Prepared<T> {
    /// No value yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Prepared<T> {
        Prepared { cell: inner::Cell::new() }
    }

    /// Puts the value.
    pub fn set(&'static self, value: T) {
        self.cell.set(value);
    }

    /// The value.
    ///
    /// # Panics
    /// When there is none: `plinth_init` has not run, or it does not set it.
    pub fn get(&'static self) -> &'static T {
        self.cell.get().expect("a Prepared is read that config and prepare have not set; a native test calls test::configure first")
    }
}

#[cfg(target_arch = "wasm32")]
mod inner {
    use std::sync::OnceLock;

    pub struct Cell<T>(OnceLock<T>);

    impl<T> Cell<T> {
        pub const fn new() -> Cell<T> {
            Cell(OnceLock::new())
        }

        pub fn set(&self, value: T) {
            assert!(self.0.set(value).is_ok(), "a Prepared is set twice");
        }

        pub fn get(&self) -> Option<&T> {
            self.0.get()
        }
    }

    // A module has one thread.
    unsafe impl<T> Sync for Cell<T> {}
}

#[cfg(not(target_arch = "wasm32"))]
mod inner {
    use std::any::Any;
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::marker::PhantomData;

    thread_local! {
        /// The values of this thread by the address of their static.
        static VALUES: RefCell<HashMap<usize, &'static dyn Any>> = RefCell::default();
    }

    // The byte gives each static an address of its own.
    pub struct Cell<T>(u8, PhantomData<fn() -> T>);

    impl<T: 'static> Cell<T> {
        pub const fn new() -> Cell<T> {
            Cell(0, PhantomData)
        }

        fn key(&'static self) -> usize {
            std::ptr::from_ref(&self.0) as usize
        }

        pub fn set(&'static self, value: T) {
            let value: &'static T = Box::leak(Box::new(value));
            VALUES.with_borrow_mut(|values| values.insert(self.key(), value));
        }

        pub fn get(&'static self) -> Option<&'static T> {
            VALUES.with_borrow(|values| values.get(&self.key()).copied())?.downcast_ref()
        }
    }
}
