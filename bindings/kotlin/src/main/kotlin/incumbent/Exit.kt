@file:JvmName("Async")
@file:JvmMultifileClass

package incumbent

import com.sun.jna.Native
import incumbent.raw.IntegrityCheckingUniffiLib
import incumbent.raw.UniffiNatives
import incumbent.raw.retire
import java.time.Duration
import java.util.concurrent.RejectedExecutionException
import kotlin.concurrent.thread
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import incumbent.raw.shutDown as releaseAll

/**
 * Closes every store and candidate of this library, ends its threads, and lets its class loader go: for a program that is
 * unloaded while its virtual machine continues to run, such as an application that a server deploys again. Leaders drain for
 * at most 10 s, the release of their keys takes at most 3 s, and the end of what still runs a few seconds more; the calling
 * thread waits for all of that. What keeps the class loader all the same is logged as a warning.
 *
 * It is the last step of such a program, outside of the work of a term. Nothing can be opened after it. What was opened can
 * still be asked whether it leads, and closed; every other call fails with a [ClosedException]. Where the class loader has
 * its own copies of JNA and of kotlinx.coroutines, their threads end too, those of `Dispatchers.Default` and
 * `Dispatchers.IO` among them. The compiled part remains mapped.
 */
public fun shutDown(): Unit = Exit.shutDown()

/** What a coroutine of this library fails with, unless [shutDown] has refused its call. */
private val failures = CoroutineExceptionHandler { _, error ->
    if (error !is ClosedException || !Exit.isOver) {
        val thread = Thread.currentThread()
        thread.uncaughtExceptionHandler.uncaughtException(thread, error)
    }
}

/** The coroutines of this library. */
@get:JvmSynthetic
internal val background = CoroutineScope(SupervisorJob() + Background + failures)

/** [Dispatchers.Default], or the caller's thread once that was shut down, so that what ends late ends all the same. */
private object Background : CoroutineDispatcher() {
    override fun dispatch(context: CoroutineContext, block: Runnable) {
        try {
            Dispatchers.Default.dispatch(context, block)
        } catch (over: RejectedExecutionException) {
            block.run()
        }
    }
}

/**
 * Leaves in time when the virtual machine exits: at its normal end, on `exit`, and on SIGTERM or SIGINT. Each runs the
 * shutdown hooks. The program's threads still run then, so leaders drain.
 */
internal object Exit {
    /** The time for the drains: the drain time of a candidate by default. */
    private val DRAIN = Duration.ofSeconds(10)

    /** The time after the drains for the release of keys. */
    private val RELEASE = Duration.ofSeconds(3)

    /** The time for each step after that, which ends something that has nothing left to do. */
    private val END = 3.seconds

    /** Null until a store is opened. */
    private var hook: Thread? = null

    /** Whether [shutDown] has begun. */
    @Volatile
    var isOver = false
        private set

    /** Held during [shutDown]: a second caller waits for the first. */
    private val ENDING = Any()

    /** Registers the hook, once. */
    @Synchronized
    fun watch() {
        check()
        if (hook == null) {
            // After `shutDown` there is nothing left to close.
            val closing = { unlessOver { leave { releaseAll(it) } } }
            hook = Thread(closing, "incumbent-exit").also { Runtime.getRuntime().addShutdownHook(it) }
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
        synchronized(ENDING) {
            if (Calls.isOver) {
                return
            }
            val kept = if (Calls.hasBegun) end() else emptyList()
            Calls.close()
            if (kept.isNotEmpty()) {
                val keeps = "shutDown(): the class loader is kept, by ${kept.joinToString(", ")}"
                System.getLogger("incumbent").log(System.Logger.Level.WARNING, keeps)
            }
        }
    }

    /** Ends all that keeps the class loader, and returns what did not end in time. */
    private fun end(): List<String> {
        val kept = mutableListOf<String>()
        leave { limit ->
            Handles.abandon()
            // If another class loader shares the compiled part, its next call creates a new engine.
            retire(limit)
        }
        if (Calls.end(END)) {
            Handles.freeAll()
            listOf(UniffiNatives::class.java, IntegrityCheckingUniffiLib::class.java, Readings::class.java)
                .forEach { Native.unregister(it) }
        } else {
            kept += "calls of the compiled part that did not return"
        }
        if (!Handles.end(END)) {
            kept += "the thread incumbent-cleaner"
        }
        endLibraries()?.let { kept += it }
        return kept
    }

    /** Ends the threads of JNA and kotlinx.coroutines, if this class loader has its own copies. Returns what keeps one. */
    @OptIn(DelicateCoroutinesApi::class)
    private fun endLibraries(): String? {
        val own = Exit::class.java.classLoader
        // What the virtual machine itself has loaded stays, and other code may use it.
        if (own === ClassLoader.getSystemClassLoader()) {
            return null
        }
        if (Native::class.java.classLoader === own) {
            // The thread ends when it is interrupted, and otherwise only once JNA has nothing left to free.
            val isCleaner = { kind: Class<*> -> kind.classLoader === own && kind.name.startsWith("com.sun.jna.internal.Cleaner") }
            Thread.getAllStackTraces().keys.filter { isCleaner(it.javaClass) }.forEach { it.interrupt() }
        }
        if (Dispatchers::class.java.classLoader !== own) {
            return null
        }
        // `shutdown` waits without a limit for tasks that block their threads.
        val ending = thread(isDaemon = true, name = "incumbent-ending") { Dispatchers.shutdown() }
        val hasEnded = waited(END) { !ending.isAlive }
        return if (hasEnded) null else "code that blocks a thread of Dispatchers.Default or Dispatchers.IO"
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
