package incumbent

import java.util.concurrent.ConcurrentHashMap
import kotlin.coroutines.AbstractCoroutineContextElement
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.currentCoroutineContext

/**
 * Whether code runs inside the work that a drain waits for. Code that resigns there must not wait for the drain: it
 * would wait for itself.
 */
internal object Inside {
    /**
     * Marks coroutines that work for a term, and all that inherit their context, even under
     * [kotlinx.coroutines.NonCancellable].
     */
    private class Working(val token: Token, val outer: Working?) : AbstractCoroutineContextElement(Working) {
        companion object : CoroutineContext.Key<Working>
    }

    /** The jobs of collectors, whose context a flow must not change; jobs that they start work for the term too. */
    private val working = ConcurrentHashMap<Job, Token>()

    /** The term that a thread works for, if the work is a plain function. */
    private val onThread = ThreadLocal<Token>()

    /** The context in which coroutines work for the term. */
    suspend fun context(token: Token): CoroutineContext = Working(token, currentCoroutineContext()[Working])

    /** Runs `work` as work for the term, on the current coroutine. */
    suspend inline fun <T> during(token: Token, work: () -> T): T {
        val job = currentCoroutineContext()[Job]
        val outer = job?.let { working.put(it, token) }
        try {
            return work()
        } finally {
            when {
                job == null -> Unit
                outer == null -> working.remove(job)
                else -> working[job] = outer
            }
        }
    }

    /** Runs `work` as work for the term, on the current thread. */
    fun <T> onThread(token: Token, work: () -> T): T {
        val outer = onThread.get()
        onThread.set(token)
        try {
            return work()
        } finally {
            if (outer == null) onThread.remove() else onThread.set(outer)
        }
    }

    /** Whether the caller is work for the term of that token, or for any term if there is none. */
    suspend fun holds(token: Token?): Boolean {
        val context = currentCoroutineContext()
        return holdsThread(token) ||
            generateSequence(context[Working]) { it.outer }.any { fits(it.token, token) } ||
            holds(context[Job], token)
    }

    /** Whether the calling thread does work for that term. */
    fun holdsThread(token: Token?): Boolean = fits(onThread.get(), token)

    @OptIn(ExperimentalCoroutinesApi::class)
    private fun holds(job: Job?, token: Token?): Boolean =
        generateSequence(job) { it.parent }.any { fits(working[it], token) }

    private fun fits(mine: Token?, token: Token?) = mine != null && (token == null || token == mine)
}
