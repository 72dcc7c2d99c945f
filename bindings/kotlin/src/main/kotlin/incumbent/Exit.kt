@file:JvmName("Async")
@file:JvmMultifileClass

package incumbent

import incumbent.raw.retire
import java.time.Duration
import incumbent.raw.shutDown as releaseAll

/**
 * Closes every store and candidate of this library, ends its threads, and removes its shutdown hook: for a program that is
 * unloaded while its virtual machine continues to run, such as an application that a server deploys again. Leaders drain for at
 * most 10 s, and the release of their keys takes at most 3 s; the calling thread waits for both. Nothing can be opened after it.
 * For code outside of the work of a term. JNA keeps the compiled part mapped.
 */
public fun shutDown(): Unit = Exit.shutDown()

/**
 * Leaves in time when the virtual machine exits: at its normal end, on `exit`, and on SIGTERM or SIGINT. Each runs the
 * shutdown hooks. The program's threads still run then, so leaders drain.
 */
internal object Exit {
    /** The time for the drains: the drain time of a candidate by default. */
    private val DRAIN = Duration.ofSeconds(10)

    /** The time after the drains for the release of keys. */
    private val RELEASE = Duration.ofSeconds(3)

    /** Null until a store is opened. */
    private var hook: Thread? = null
    private var isOver = false

    /** Registers the hook, once. */
    @Synchronized
    fun watch() {
        check()
        if (hook == null) {
            hook = Thread({ leave { releaseAll(it) } }, "incumbent-exit").also { Runtime.getRuntime().addShutdownHook(it) }
        }
    }

    /** Refuses what is opened after [shutDown]: nothing would wake its waits. */
    @Synchronized
    fun check() {
        if (isOver) {
            throw ClosedException("shutDown() was called: nothing can be opened after it", null)
        }
    }

    fun shutDown() {
        val registered = synchronized(this) {
            isOver = true
            hook.also { hook = null }
        }
        if (registered != null) {
            // The removal is refused once the virtual machine exits, but then the hook itself does this work.
            runCatching { Runtime.getRuntime().removeShutdownHook(registered) }
        }
        // If another class loader shares the compiled part, its next call creates a new engine.
        leave { retire(it) }
    }

    private fun leave(release: (Duration) -> Unit) {
        val until = System.nanoTime() + DRAIN.toNanos()
        val closing = Candidate.campaigning.map { it.raw.close(false) }
        for (one in closing) {
            one.wait(Duration.ofNanos((until - System.nanoTime()).coerceAtLeast(0)))
        }
        release(RELEASE)
    }
}
