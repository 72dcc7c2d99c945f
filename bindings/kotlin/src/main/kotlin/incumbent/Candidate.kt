/** A participant of an election. */
package incumbent

import incumbent.raw.ExecutorProbe
import incumbent.raw.Questions
import java.util.Collections
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.Executor
import java.util.concurrent.ExecutorService
import kotlin.coroutines.cancellation.CancellationException
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.ExecutorCoroutineDispatcher
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.cancel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import incumbent.raw.Candidate as RawCandidate
import incumbent.raw.Term as RawTerm

/**
 * A participant of an election, made by [Store.campaign]. It campaigns until it is closed, even when the program drops
 * it: after a lost term it campaigns for the next. It works from any thread.
 *
 * In Java it is for `try (…)`. In Kotlin the suspending [close] and [use] are.
 */
public class Candidate internal constructor(internal val raw: RawCandidate) : Closing {
    private val address = raw.address().toLong()

    /** Whether this candidate leads now, by the clock. Takes less than a microsecond, and allocates nothing. */
    public val isLeader: Boolean get() = reading(raw, 0) { Readings.incumbent_candidate_is_leader(address) } != 0

    /** The key of the election. */
    public val election: String = raw.election()

    /** The candidate's name. */
    public val name: String = raw.name()

    /** The state of the campaign. */
    public val state: State get() = unlessOver(State.CLOSED) { raw.state().toState() }

    /** The leader, as far as this candidate has seen; null if there is none. */
    public val leader: Leader? get() = unlessOver(null) { raw.leader()?.toLeader() }

    /** The current term; null while this candidate does not lead. */
    public val term: Term? get() = unlessOver(null) { raw.term()?.let { Term(it) } }

    /**
     * Waits for the current or the next term, or for the term after `after`, and holds it; null once the campaign is
     * over. Close the hold when the work is done: a drain waits for it.
     */
    public suspend fun nextTerm(after: Term? = null): Hold? = next(after?.raw)

    /**
     * Every term of this candidate, until the campaign is over. The collector's block is work of the term: a drain waits
     * for it. When it returns before the term ends, the term continues, and the flow proceeds to the next term.
     *
     * ```kotlin
     * candidate.terms().collect { term ->
     *     term.run { work(term.token) }
     * }
     * ```
     *
     * Each collector gets every term. Behind a buffer, such as that of `flowOn`, a drain does not wait for the block.
     * Cancelling a collector ends its wait, and not the campaign: [use] closes the candidate then.
     */
    public fun terms(): Flow<Term> = flow {
        var last: RawTerm? = null
        while (true) {
            val hold = next(last) ?: break
            last = hold.term.raw
            hold.use { Inside.during(it.term.token) { emit(it.term) } }
        }
    }

    /**
     * Runs `work` in every term of this candidate, until the campaign is over. A drain waits for it. `term.draining()`
     * returns when it is time to finish, and the scope of `work` is cancelled when the term ends. The work of one term
     * never begins before the previous term's work has returned.
     *
     * When it returns before the term ends, the term continues: call [resign] as the last step to leave instead. When
     * it throws, an [Error] too, the term ends with [Reason.HANDLER_FAILED], the coroutine's exception handler or else
     * the thread's gets the error, and the candidate campaigns again after a delay. An error that it throws because its
     * term is over is ignored. Cancelling this call cancels the work and closes the candidate: it would lead, and
     * nothing would work.
     */
    public suspend fun lead(work: suspend CoroutineScope.(Term) -> Unit) {
        try {
            var last: RawTerm? = null
            while (true) {
                val hold = next(last) ?: return
                last = hold.term.raw
                hold.use { lead(it.term, work) }
            }
        } finally {
            if (!currentCoroutineContext().isActive) {
                closeAtOnce()
            }
        }
    }

    private suspend fun lead(term: Term, work: suspend CoroutineScope.(Term) -> Unit) {
        try {
            term.run(work)
        } catch (ended: TermEndedException) {
            // The error is for this term, or for another term that the work used.
            if (term.isCurrent) {
                term.fail()
            }
        } catch (error: Throwable) {
            val context = currentCoroutineContext()
            if (!context.isActive) {
                throw error
            }
            term.fail()
            val handler = context[CoroutineExceptionHandler]
            if (handler != null) {
                handler.handleException(context, error)
            } else {
                val thread = Thread.currentThread()
                thread.uncaughtExceptionHandler.uncaughtException(thread, error)
            }
        }
    }

    /**
     * The events from now on, beginning with the current state. Each collector gets every event. Reading an event does not
     * hold its term. Slow collectors delay nothing: a collector that falls 1024 events behind loses the oldest events
     * other than [Event.Won] and [Event.Lost].
     */
    public fun events(): Flow<Event> = flow {
        val events = translating { raw.events() }
        try {
            while (true) {
                emit((translating { events.next() } ?: break).toEvent())
            }
        } finally {
            unlessOver { events.stop() }
            events.destroy()
        }
    }

    /**
     * Gives up leadership, if this candidate leads, and keeps campaigning behind the other candidates. Returns once the
     * work has drained and the key is released; inside that work, as soon as the term is draining. In a block of
     * [terms], code under `withContext(NonCancellable)` is not recognised as part of that work, and waits for the whole
     * drain.
     */
    public suspend fun resign(): Unit = raw.resign(isInside()).await()

    /**
     * Hands leadership over to the candidate of that name; otherwise like [resign]. Other candidates hold back for a
     * moment.
     *
     * @throws NotLeaderException if this candidate does not lead.
     */
    public suspend fun handOver(to: String): Unit = raw.handOver(to, isInside()).await()

    /** Sends what [close] does, for a caller that does not wait for it. */
    internal fun closeAtOnce() = unlessOver { raw.close(true).close() }

    /** For Java: waits until it is closed. In Kotlin a call is one of the extension of this name, which suspends. */
    @Suppress("INVISIBLE_MEMBER", "INVISIBLE_REFERENCE")
    @kotlin.internal.LowPriorityInOverloadResolution
    override fun close(): Unit = closeAsync().waited()

    /** Waits until the campaign is over, for any cause. */
    public suspend fun closed(): Unit = unlessOver { raw.closed().await() }

    /** Runs `block`, and closes the candidate after it in any case. */
    public suspend inline fun <T> use(block: (Candidate) -> T): T =
        try {
            block(this)
        } finally {
            withContext(NonCancellable) { close() }
        }

    /** Sets whether this candidate is healthy; it is at first. An unhealthy candidate leaves, and does not campaign. */
    public fun setHealthy(healthy: Boolean): Unit = translating { raw.setHealthy(healthy) }

    /** Accepts that tokens may start again after the store was reset. */
    public fun acceptReset(): Unit = translating { raw.acceptReset() }

    override fun toString(): String = "Candidate(election=$election, name=$name)"

    internal suspend fun next(after: RawTerm?): Hold? =
        raw.nextTerm(after).await()?.let { Hold(it, Term(it.term())) }

    /** Whether the caller is part of work that a drain of this candidate waits for. */
    internal suspend fun isInside(): Boolean = Inside.holds(term?.token)

    internal companion object {
        /** The campaigning candidates: each is kept until it is closed. */
        internal val campaigning: MutableSet<Candidate> = Collections.newSetFromMap(ConcurrentHashMap())

        /** Creates a candidate, and keeps it, asks its health and watches its dispatcher until its campaign is over. */
        internal fun campaigning(
            raw: RawCandidate,
            probe: ExecutorProbe?,
            health: HealthCheck?,
            dispatcher: CoroutineDispatcher,
        ): Candidate {
            val candidate = Candidate(raw)
            campaigning.add(candidate)
            val asked = background.launch { candidate.beAsked(probe, health, dispatcher) }
            background.launch {
                try {
                    candidate.closed()
                } finally {
                    asked.cancel()
                    campaigning.remove(candidate)
                }
            }
            return candidate
        }
    }

    /** Answers on that dispatcher, until the campaign is over. Once the dispatcher is shut down, the candidate is unhealthy. */
    private suspend fun beAsked(probe: ExecutorProbe?, health: HealthCheck?, dispatcher: CoroutineDispatcher) {
        val questions = health?.let { raw.questions() }
        try {
            while (true) {
                // Returns once nothing uses the probe and the questions any more, even if this is cancelled.
                val answering = coroutineScope {
                    launch(dispatcher) {
                        if (questions != null && health != null) {
                            launch { answer(questions, health) }.invokeOnCompletion { gone -> gone?.let { cancel() } }
                        }
                        while (probe != null) {
                            probe.asked()
                            probe.answered()
                        }
                    }
                }
                when {
                    !answering.isCancelled -> return
                    dispatcher.isShutDown() -> return setHealthy(false)
                    // Refused because its queue is too long.
                    else -> delay(REFUSED)
                }
            }
        } finally {
            probe?.destroy()
            questions?.destroy()
        }
    }

    private suspend fun answer(questions: Questions, health: HealthCheck) {
        while (true) {
            val question = questions.next() ?: return
            val isHealthy = try {
                health.isHealthy()
            } catch (gone: CancellationException) {
                throw gone
            } catch (error: Throwable) {
                false
            }
            question.use { one -> one.answer(isHealthy) }
        }
    }
}

/** The time after which a dispatcher that refused to run something is asked again. */
private val REFUSED = 100.milliseconds

/** Gives up leadership and ends the campaign; otherwise like [Candidate.resign]. Closing twice is no error. */
public suspend fun Candidate.close(): Unit = unlessOver { raw.close(isInside()).await() }

/** Whether nothing will run there any more. */
private fun CoroutineDispatcher.isShutDown() = (this as? ExecutorCoroutineDispatcher)?.executor.isShutDown()

/** Whether nothing will run there any more. An executor of another interface cannot be asked. */
internal fun Executor?.isShutDown(): Boolean = (this as? ExecutorService)?.isShutdown == true
