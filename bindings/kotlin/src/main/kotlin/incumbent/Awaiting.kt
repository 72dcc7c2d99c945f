/**
 * Waiting for calls of the compiled part.
 *
 * A call runs from the creation of its object. Cancelling a waiting coroutine only removes it from the queue of
 * waiters; the call itself is cancelled through its object.
 */
package incumbent

import com.sun.jna.CallbackThreadInitializer
import com.sun.jna.Native
import incumbent.raw.Disposable
import incumbent.raw.Events
import incumbent.raw.ExecutorProbe
import incumbent.raw.Observations
import incumbent.raw.PendingCandidate
import incumbent.raw.PendingElections
import incumbent.raw.PendingEnd
import incumbent.raw.PendingFaultyStore
import incumbent.raw.PendingInit
import incumbent.raw.PendingLeader
import incumbent.raw.PendingObservations
import incumbent.raw.PendingParticipants
import incumbent.raw.PendingReason
import incumbent.raw.PendingStore
import incumbent.raw.PendingTerm
import incumbent.raw.Questions
import incumbent.raw.uniffiRustFutureContinuationCallbackImpl
import kotlin.coroutines.cancellation.CancellationException

internal suspend fun PendingStore.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingInit.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingFaultyStore.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingCandidate.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingObservations.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingTerm.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingEnd.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingReason.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingLeader.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingElections.await() = awaiting(this, { ready() }, { take() }) { cancel() }

internal suspend fun PendingParticipants.await() = awaiting(this, { ready() }, { take() }) { cancel() }

// Takes an answer after the last suspension point, so that a cancellation never loses an answer that holds a term. The
// generated code loses the answer of a future that is abandoned just as it is answered.
private inline fun <T> awaiting(pending: Disposable, ready: () -> Unit, take: () -> T, cancel: () -> Unit): T =
    try {
        translating {
            ready()
            take()
        }
    } catch (gone: CancellationException) {
        unlessOver { cancel() }
        throw gone
    } finally {
        pending.destroy()
    }

/** Ends the wait for a generated object, if anything can wait for it. The wait fails, or ends with nothing. */
internal fun abandon(raw: Any) {
    when (raw) {
        is PendingStore -> raw.cancel()
        is PendingInit -> raw.cancel()
        is PendingFaultyStore -> raw.cancel()
        is PendingCandidate -> raw.cancel()
        is PendingObservations -> raw.cancel()
        is PendingTerm -> raw.cancel()
        is PendingEnd -> raw.cancel()
        is PendingReason -> raw.cancel()
        is PendingLeader -> raw.cancel()
        is PendingElections -> raw.cancel()
        is PendingParticipants -> raw.cancel()
        is Events -> raw.stop()
        is Observations -> raw.stop()
        is Questions -> raw.stop()
        is ExecutorProbe -> raw.stop()
    }
}

/** The thread of the compiled part that wakes coroutines. */
internal object Wakes {
    init {
        Calls.callOr(Unit) {
            Calls.loadJna()
            // The thread stays attached; by default it would attach and detach for every wake. As a daemon thread it does
            // not keep the virtual machine running.
            val staying = CallbackThreadInitializer(true, false, "incumbent-wake")
            Native.setCallbackThreadInitializer(uniffiRustFutureContinuationCallbackImpl, staying)
        }
    }

    /** Prepares it, before the first wait. */
    fun prepare(): Unit = Unit
}
