//! The program's allocator. It keeps small memory that was freed, in lists by size, for the thread that freed it: a run
//! allocates and frees all the time, and the system's allocator takes five times as many instructions for that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// The sizes of small memory: multiples of so many bytes.
const STEP: usize = 32;
/// The number of those sizes.
const SIZES: usize = 32;
/// The alignment that the system gives to memory of every size.
const ALIGNMENT: usize = 16;
/// The most memory that a list keeps, so that a burst of one size is returned.
const MOST: u32 = 4_096;

/// Memory of one size. Each begins with the address of the next.
struct List {
    first: Cell<*mut u8>,
    length: Cell<u32>,
}

thread_local! {
    static LISTS: [List; SIZES] =
        const { [const { List { first: Cell::new(ptr::null_mut()), length: Cell::new(0) } }; SIZES] };
}

/// The list of memory with this layout, and the layout of all memory in it.
fn list_of(layout: Layout) -> Option<(usize, Layout)> {
    let place = layout.size().checked_sub(1)? / STEP;
    let small = place < SIZES && layout.align() <= ALIGNMENT;
    let whole = Layout::from_size_align((place + 1) * STEP, ALIGNMENT).ok()?;
    small.then_some((place, whole))
}

pub(super) struct Allocator;

// SAFETY: memory in a list came from the system with the layout of the list, which is at least as large and as aligned
// as every layout that `list_of` maps to it. It is in one list, once, from when it was freed until it is returned.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((place, whole)) = list_of(layout) else {
            // SAFETY: the caller's.
            return unsafe { System.alloc(layout) };
        };
        LISTS.with(|lists| {
            let List { first, length } = &lists[place];
            let memory = first.get();
            if memory.is_null() {
                // SAFETY: the size is not zero.
                return unsafe { System.alloc(whole) };
            }
            // SAFETY: memory in a list begins with the address of the next.
            first.set(unsafe { memory.cast::<*mut u8>().read() });
            length.set(length.get() - 1);
            memory
        })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let Some((place, whole)) = list_of(layout) else {
            // SAFETY: the caller's.
            return unsafe { System.dealloc(memory, layout) };
        };
        LISTS.with(|lists| {
            let List { first, length } = &lists[place];
            if length.get() == MOST {
                // SAFETY: the memory came from the system with this layout.
                return unsafe { System.dealloc(memory, whole) };
            }
            // SAFETY: the memory is no longer used, and has space for an address.
            unsafe { memory.cast::<*mut u8>().write(first.get()) };
            first.set(memory);
            length.set(length.get() + 1);
        });
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else { return ptr::null_mut() };
        match (list_of(layout), list_of(wanted)) {
            // SAFETY: the caller's.
            (None, None) => unsafe { System.realloc(memory, layout, size) },
            (Some((before, _)), Some((after, _))) if before == after => memory,
            _ => {
                // SAFETY: the new memory has the wanted size, and the old one is used no longer.
                unsafe {
                    let new = self.alloc(wanted);
                    if !new.is_null() {
                        ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
                        self.dealloc(memory, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_freed_is_used_again_for_the_same_size() {
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        // SAFETY: each is freed once, with its layout.
        unsafe {
            let one = Allocator.alloc(layout(40));
            let other = Allocator.alloc(layout(64));
            Allocator.dealloc(one, layout(40));
            Allocator.dealloc(other, layout(64));
            assert_eq!([Allocator.alloc(layout(33)), Allocator.alloc(layout(50))], [other, one]);
            Allocator.dealloc(one, layout(50));
            Allocator.dealloc(other, layout(33));
        }
    }

    #[test]
    fn memory_that_grows_and_shrinks_keeps_what_is_in_it() {
        let layout = |size| Layout::from_size_align(size, 1).unwrap();
        // SAFETY: each size is the one of the last call, and the memory is freed once.
        unsafe {
            let mut memory = Allocator.alloc(layout(1));
            memory.write(7);
            let mut before = 1;
            for size in [30, 33, 1_024, 1_025, 9_000, 2_000, 1_000, 3] {
                memory = Allocator.realloc(memory, layout(before), size);
                assert_eq!(memory.read(), 7, "{size}");
                before = size;
            }
            Allocator.dealloc(memory, layout(before));
        }
    }
}
