/**
 * Brackets around the calls of the compiled part, and the end of these calls.
 *
 * For each native function JNA keeps memory, which a call uses until it has returned, and a reference to the class that
 * declares the function, which keeps its class loader. [shutDown] gives both back. Each call is counted for that reason:
 * after the end none begins, and the memory is freed once the last call has returned.
 */
package incumbent

import incumbent.raw.UniffiCleaner
import java.lang.ref.ReferenceQueue
import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLongArray
import java.util.concurrent.locks.LockSupport
import kotlin.concurrent.thread
import kotlin.time.Duration

internal object Calls {
    private val begun = Counter()
    private val returned = Counter()

    /** Null while calls may begin; then the thread that ends them, which may still free; then [OVER]. */
    @Volatile
    private var ender: Any? = null

    private val OVER = Any()

    /**
     * Loads JNA without the class loader that the program gave to this thread: JNA begins a process, and the thread of the
     * virtual machine that waits for processes would keep that class loader for a minute.
     */
    fun loadJna() {
        val thread = Thread.currentThread()
        val loader = thread.contextClassLoader
        thread.contextClassLoader = null
        try {
            Class.forName("com.sun.jna.NativeLibrary", true, Calls::class.java.classLoader)
        } finally {
            thread.contextClassLoader = loader
        }
    }

    /** Whether no call of the compiled part may begin any more. */
    val isOver: Boolean get() = ender != null

    /** Whether the compiled part was ever called. */
    val hasBegun: Boolean get() = begun.sum() > 0

    /** Calls the compiled part; refused after the end. */
    inline fun <T> call(function: () -> T): T {
        if (!begin()) {
            throw over()
        }
        try {
            return function()
        } finally {
            returns()
        }
    }

    /** Calls the compiled part, or returns `otherwise` after the end. */
    inline fun <T> callOr(otherwise: T, function: () -> T): T {
        if (!begin()) {
            return otherwise
        }
        try {
            return function()
        } finally {
            returns()
        }
    }

    /** Frees something of the compiled part. After the end nothing is left to free. */
    inline fun free(function: () -> Unit): Unit = callOr(Unit, function)

    fun begin(): Boolean {
        begun.increment()
        // The count changes before the question is asked, so that `end` waits for this call or this call is refused.
        val by = ender
        if (by == null || by === Thread.currentThread()) {
            return true
        }
        returned.increment()
        return false
    }

    fun returns() = returned.increment()

    /** The error of a call after the end. */
    fun over() = ClosedException("shutDown() was called: nothing of this library works any more", null)

    /**
     * Refuses further calls, except those of this thread, and waits until the others have returned. Returns whether they
     * have, within `limit`.
     */
    fun end(limit: Duration): Boolean {
        ender = Thread.currentThread()
        // In this order: a call that is counted as returned was counted as begun before.
        return waited(limit) { returned.sum() == begun.sum() }
    }

    /** Refuses the calls of the thread that has ended the others, too. */
    fun close() {
        ender = OVER
    }
}

/** A number that only grows. Threads rarely count in the same place, and counting allocates nothing. */
private class Counter {
    private val places = AtomicLongArray(PLACES * APART)

    fun increment() {
        places.getAndIncrement((Thread.currentThread().id % PLACES).toInt() * APART)
    }

    /** Contains at least each increment that came before the call. */
    fun sum(): Long = (0 until PLACES).sumOf { places.get(it * APART) }

    private companion object {
        const val PLACES = 16

        /** Keeps two places out of one cache line of 64 bytes, or of the 128 that some processors fetch. */
        const val APART = 16
    }
}

/** Waits until something is so, and returns whether it is, within `limit`. Waits on an interrupted thread, too. */
internal fun waited(limit: Duration, isSo: () -> Boolean): Boolean {
    val until = System.nanoTime() + limit.inWholeNanoseconds
    while (!isSo()) {
        if (System.nanoTime() >= until) {
            return false
        }
        LockSupport.parkNanos(1_000_000)
    }
    return true
}

/** Calls the compiled part for something that is done anyway after [shutDown]. */
internal inline fun unlessOver(call: () -> Unit): Unit = unlessOver(Unit, call)

/** Asks the compiled part for something that is known after [shutDown]. */
internal inline fun <T> unlessOver(known: T, call: () -> T): T =
    if (Calls.isOver) {
        known
    } else {
        try {
            call()
        } catch (closed: ClosedException) {
            if (Exit.isOver) known else throw closed
        }
    }

/**
 * The generated objects that the program still refers to. What it has dropped is freed on a thread of this library, which
 * [shutDown] ends after it has freed the rest. A cleaner of Java or JNA would keep the class loader for each object that a
 * static variable refers to.
 */
internal object Handles : UniffiCleaner {
    private val dropped = ReferenceQueue<Any>()
    private val all: MutableSet<Handle> = ConcurrentHashMap.newKeySet()

    private val cleaner = thread(isDaemon = true, name = "incumbent-cleaner") {
        try {
            while (true) {
                val handle = dropped.remove() as Handle
                // An error of one must not keep the others.
                runCatching { handle.clean() }
            }
        } catch (over: InterruptedException) {
            // Everything is freed.
        }
    }

    private class Handle(of: Any, private val free: Runnable) : WeakReference<Any>(of, dropped), UniffiCleaner.Cleanable {
        override fun clean() {
            if (all.remove(this)) {
                free.run()
            }
        }
    }

    override fun register(value: Any, cleanUpTask: Runnable): UniffiCleaner.Cleanable =
        Handle(value, cleanUpTask).also { all.add(it) }

    /** Cancels the calls that the program still waits for. */
    fun abandon() = all.forEach { handle ->
        // It may be freed at this moment.
        runCatching { handle.get()?.let { abandon(it) } }
    }

    /** Frees every object. The program may still have it: a call of it is refused. */
    fun freeAll() = all.forEach { runCatching { it.clean() } }

    /** Ends the thread, and returns whether it has ended within `limit`. */
    fun end(limit: Duration): Boolean {
        cleaner.interrupt()
        return waited(limit) { !cleaner.isAlive }
    }
}
