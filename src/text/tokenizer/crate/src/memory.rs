//! Tells the program when memory runs out. Rust would otherwise print a line of its own and abort.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, Ordering};

static HANDLER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

struct Watched;

/// The system's allocator, with a call of the handler in between.
#[global_allocator]
static ALLOCATOR: Watched = Watched;

fn checked(place: *mut u8) -> *mut u8 {
    if place.is_null() {
        let handler = HANDLER.load(Ordering::Relaxed);
        if !handler.is_null() {
            // SAFETY: attn_on_no_memory stored a function of this type.
            let handler: extern "C" fn() = unsafe { std::mem::transmute(handler) };
            handler();
        }
    }
    place
}

unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc(layout))
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        checked(System.alloc_zeroed(layout))
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        checked(System.realloc(place, layout, size))
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        System.dealloc(place, layout)
    }
}

#[no_mangle]
pub extern "C" fn attn_on_no_memory(handler: Option<extern "C" fn()>) {
    HANDLER.store(handler.map_or(std::ptr::null_mut(), |f| f as *mut ()), Ordering::Relaxed);
}
