/**
 * The library for Java: futures and callbacks for what suspends in Kotlin, and what `try (…)` closes.
 *
 * ```java
 * import static incumbent.Async.*;
 *
 * Store store = connect("nats://localhost:4222/ELECTIONS").join();
 * Candidate candidate = campaign(store, "billing-cron").join();
 * lead(candidate, executor, term -> work(term.getToken())).join();
 * ```
 *
 * Cancelling a future cancels the call; a store, candidate or hold that comes all the same is closed. A future that a call
 * fails is completed with its [IncumbentException].
 */
@file:JvmName("Async")
@file:JvmMultifileClass

package incumbent

import incumbent.raw.PendingEnd
import java.time.Duration
import java.util.Optional
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException
import java.util.concurrent.Executor
import java.util.function.Consumer
import kotlin.time.toJavaDuration
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.launch
import kotlinx.coroutines.runInterruptible

/** What Java closes at the end of a `try (…)`. */
public interface Closing : AutoCloseable {
    /** Closes it, and waits for that. Interrupting the thread ends the wait, and not the closing. */
    override fun close()
}

/** Begins `work`. Where the future is cancelled first, `discard` gets the result. */
internal fun <T> start(discard: (T) -> Unit = {}, work: suspend () -> T): CompletableFuture<T> {
    val future = CompletableFuture<T>()
    if (Calls.isOver) {
        return CompletableFuture.failedFuture(Calls.over())
    }
    val working = background.launch {
        try {
            val result = work()
            if (!future.complete(result)) {
                discard(result)
            }
        } catch (error: Throwable) {
            future.completeExceptionally(error)
        }
    }
    future.whenComplete { _, _ -> working.cancel() }
    return future
}

/** Waits on this thread; see [Closing.close]. */
internal fun CompletableFuture<Void?>.waited() {
    try {
        get()
    } catch (gone: InterruptedException) {
        Thread.currentThread().interrupt()
    } catch (failed: ExecutionException) {
        throw failed.cause ?: failed
    }
}

/** Waits for what `request` begins now, on the caller's thread. */
private fun end(request: () -> PendingEnd): CompletableFuture<Void?> {
    val pending = try {
        request()
    } catch (refused: ClosedException) {
        return CompletableFuture.failedFuture(refused)
    }
    return start {
        pending.await()
        null
    }
}

/** As [end], for what is at its end after [shutDown]. */
private fun close(request: () -> PendingEnd): CompletableFuture<Void?> =
    if (Calls.isOver) CompletableFuture.completedFuture(null) else end(request)

/** Opens the store at `url`; see [incumbent.connect]. */
@JvmName("connect")
@JvmOverloads
public fun connectAsync(url: String, settings: StoreSettings = StoreSettings()): CompletableFuture<Store> =
    start({ it.closeAtOnce() }) { connect(url, settings) }

/** Prepares the store at `url` for elections; see [incumbent.init]. */
@JvmName("init")
@JvmOverloads
public fun initAsync(url: String, settings: InitSettings = InitSettings()): CompletableFuture<InitReport> =
    start { init(url, settings) }

/** Campaigns in the election of that key; see [Store.campaign]. Only the settings' executor is watched. */
@JvmName("campaign")
@JvmOverloads
public fun Store.campaignAsync(
    election: String,
    settings: CampaignSettings = CampaignSettings(),
): CompletableFuture<Candidate> = start({ it.closeAtOnce() }) { campaign(election, settings, settings.dispatcher) }

/** The election's current leader; see [Store.leader]. */
@JvmName("leader")
public fun Store.leaderAsync(election: String): CompletableFuture<Optional<Leader>> =
    start { Optional.ofNullable(leader(election)) }

/** All elections of the store, by key; see [Store.list]. */
@JvmName("list")
public fun Store.listAsync(): CompletableFuture<List<ElectionInfo>> = start { list() }

/** The candidates of that election; see [Store.candidates]. */
@JvmName("candidates")
public fun Store.candidatesAsync(election: String): CompletableFuture<Optional<List<CandidateInfo>>> =
    start { Optional.ofNullable(candidates(election)) }

/** Closes every candidate cleanly, and then the store; see [Store.close]. */
@JvmName("close")
public fun Store.closeAsync(): CompletableFuture<Void?> = close { raw.close(Inside.holdsThread(null)) }

/** Calls `observer`, on threads of `executor`, one call at a time, with each leader of that election, until it is closed. */
@JvmName("observe")
public fun Store.observeWith(election: String, executor: Executor, observer: Consumer<Observation>): AutoCloseable =
    observe(election).callEach(executor, observer)

/** Gives up leadership, and keeps campaigning; see [Candidate.resign]. */
@JvmName("resign")
public fun Candidate.resignAsync(): CompletableFuture<Void?> = end { raw.resign(isThreadInside()) }

/** Hands leadership over to the candidate of that name; see [Candidate.handOver]. */
@JvmName("handOver")
public fun Candidate.handOverAsync(to: String): CompletableFuture<Void?> = end { raw.handOver(to, isThreadInside()) }

/** Gives up leadership and ends the campaign; see [Candidate.close]. */
@JvmName("close")
public fun Candidate.closeAsync(): CompletableFuture<Void?> = close { raw.close(isThreadInside()) }

/** Completes when the campaign is over, for any cause. */
@JvmName("closed")
public fun Candidate.closedAsync(): CompletableFuture<Void?> = close { raw.closed() }

/** The current or the next term, held; empty once the campaign is over. Close the hold when the work is done. */
@JvmName("nextTerm")
public fun Candidate.nextTermAsync(): CompletableFuture<Optional<Hold>> =
    start({ hold -> hold.ifPresent { it.close() } }) { Optional.ofNullable(nextTerm()) }

/**
 * Runs `work` in every term of this candidate, on a thread of `executor`, until the campaign is over; see
 * [Candidate.lead]. The thread is interrupted when the term ends. Cancelling the future interrupts it and closes the
 * candidate. Where the executor is shut down, the candidate is unhealthy: it leaves, and campaigns no more.
 */
@JvmName("lead")
public fun Candidate.leadAsync(executor: Executor, work: Consumer<Term>): CompletableFuture<Void?> {
    val dispatcher = executor.asCoroutineDispatcher()
    return start {
        lead { term ->
            try {
                runInterruptible(dispatcher) { Inside.onThread(term.token) { work.accept(term) } }
            } finally {
                if (executor.isShutDown()) {
                    setHealthy(false)
                }
            }
        }
        null
    }
}

/** Calls `listener`, on threads of `executor`, one call at a time, with each event from now on, until it is closed. */
@JvmName("listen")
public fun Candidate.listenWith(executor: Executor, listener: Consumer<Event>): AutoCloseable =
    events().callEach(executor, listener)

/** Completes with the reason when the term is over; see [Term.ended]. */
@JvmName("ended")
public fun Term.endedAsync(): CompletableFuture<Reason> = start { ended() }

/** Completes when the leader begins to leave of its own accord, or the term is over; see [Term.draining]. */
@JvmName("draining")
public fun Term.drainingAsync(): CompletableFuture<Void?> = end { raw.draining() }

/** [Term.remaining] as Java's type. */
@JvmName("remaining")
public fun Term.remainingTime(): Duration = remaining.toJavaDuration()

/** [Term.drainRemaining] as Java's type. */
@JvmName("drainRemaining")
public fun Term.drainRemainingTime(): Optional<Duration> = Optional.ofNullable(drainRemaining?.toJavaDuration())

private fun Candidate.isThreadInside() = Inside.holdsThread(term?.token)

/** Calls `each` with every item; its errors go to the handler of uncaught exceptions, and the next item is taken. */
private fun <T> Flow<T>.callEach(executor: Executor, each: Consumer<T>): AutoCloseable {
    val calling = background.launch(executor.asCoroutineDispatcher()) {
        collect { item ->
            try {
                each.accept(item)
            } catch (error: Throwable) {
                val thread = Thread.currentThread()
                thread.uncaughtExceptionHandler.uncaughtException(thread, error)
            }
        }
    }
    return AutoCloseable { calling.cancel() }
}
