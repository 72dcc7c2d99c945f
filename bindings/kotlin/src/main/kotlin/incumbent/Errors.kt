/** The errors: one base, one class for each kind, and the same codes in every language. */
package incumbent

import incumbent.raw.Failure
import incumbent.raw.errorCodes
import kotlin.coroutines.cancellation.CancellationException

/** A stable name of a kind of error, the same in every language. */
public enum class Code {
    // generated: codes
    /** A store's URL cannot be read, or names a parameter that does not exist. */
    INVALID_URL,

    /** A setting is refused; the message names it, its value, what is accepted and the remedy. */
    INVALID_SETTING,

    /** The store cannot hold this key or candidate name. */
    INVALID_NAME,

    /** Credentials cannot be read, or are malformed. */
    AUTHENTICATION,

    /** The store does not answer. */
    STORE_UNAVAILABLE,

    /** The store refuses the credentials, or they lack a permission. */
    PERMISSION_DENIED,

    /** The bucket, file or topic does not exist; preparing the store creates it. */
    NOT_FOUND,

    /** An election on a store with these settings would be unsafe. */
    UNSAFE_STORE,

    /** This build, store or server version does not support the request. */
    UNSUPPORTED,

    /** The candidate or the store is closed. */
    CLOSED,

    /** The handle was made, or the file opened, before the process forked; the child is never the leader. */
    FORKED,

    /** Only the leader may do this. */
    NOT_LEADER,

    /** The store answers but cannot serve: it is full, locked or damaged. */
    BROKEN,

    /** The term ended before the work that ran in it. */
    TERM_ENDED,

    /** The wait ended at its time limit. */
    TIMED_OUT,

    /** A bug in incumbent; please report it. */
    INTERNAL;

    // end of codes

    /** Whether the same call can succeed later without a change by the caller or an operator. */
    public val isTemporary: Boolean get() = TEMPORARY[name] ?: false

    private companion object {
        // After `shutDown` every error is for good.
        val TEMPORARY: Map<String, Boolean> by lazy { unlessOver(emptyMap()) { errorCodes() } }
    }
}

/**
 * The base of every error of this library. Programs act on the class or on [code]; the message is for people, and
 * contains the remedy.
 */
public sealed class IncumbentException(
    /** A stable name of the kind. */
    public val code: Code,
    message: String,
    cause: Throwable?,
) : RuntimeException(message, cause) {
    /** Whether the same call can succeed later without a change by the caller or an operator. */
    public val isTemporary: Boolean get() = code.isTemporary
}

// generated: errors
/** A store's URL cannot be read, or names a parameter that does not exist. */
public class InvalidUrlException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.INVALID_URL, message, cause)

/** A setting is refused; the message names it, its value, what is accepted and the remedy. */
public class InvalidSettingException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.INVALID_SETTING, message, cause)

/** The store cannot hold this key or candidate name. */
public class InvalidNameException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.INVALID_NAME, message, cause)

/** Credentials cannot be read, or are malformed. */
public class AuthenticationException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.AUTHENTICATION, message, cause)

/** The store does not answer. */
public class StoreUnavailableException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.STORE_UNAVAILABLE, message, cause)

/** The store refuses the credentials, or they lack a permission. */
public class PermissionDeniedException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.PERMISSION_DENIED, message, cause)

/** The bucket, file or topic does not exist; preparing the store creates it. */
public class NotFoundException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.NOT_FOUND, message, cause)

/** An election on a store with these settings would be unsafe. */
public class UnsafeStoreException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.UNSAFE_STORE, message, cause)

/** This build, store or server version does not support the request. */
public class UnsupportedException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.UNSUPPORTED, message, cause)

/** The candidate or the store is closed. */
public class ClosedException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.CLOSED, message, cause)

/** The handle was made, or the file opened, before the process forked; the child is never the leader. */
public class ForkedException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.FORKED, message, cause)

/** Only the leader may do this. */
public class NotLeaderException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.NOT_LEADER, message, cause)

/** The store answers but cannot serve: it is full, locked or damaged. */
public class BrokenException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.BROKEN, message, cause)

/** The wait ended at its time limit. */
public class TimedOutException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.TIMED_OUT, message, cause)

/** A bug in incumbent; please report it. */
public class InternalException internal constructor(message: String, cause: Throwable?) :
    IncumbentException(Code.INTERNAL, message, cause)

// end of errors

/** The term ended before the work that ran in it. */
public class TermEndedException internal constructor(
    /** The reason for which the term ended. */
    public val reason: Reason,
    message: String,
    cause: Throwable? = null,
) : IncumbentException(Code.TERM_ENDED, message, cause)

/** An error of the layers below, known only by its text. */
private class Cause(message: String, cause: Throwable?) : Exception(message, cause) {
    // This exception's stack trace would only show the translation.
    override fun fillInStackTrace(): Throwable = this
}

/** Translates a failure of the compiled part. */
internal fun Failure.toException(): Exception =
    when (this) {
        // `shutDown` cancels what the program still waits for.
        is Failure.Cancelled -> if (Exit.isOver) Calls.over() else CancellationException("the call was cancelled")
        is Failure.Failed -> {
            val cause = causes.asReversed().fold(null as Throwable?) { inner, text -> Cause(text, inner) }
            exceptionOf(Code.entries.find { it.name == code } ?: Code.INTERNAL, text, cause, reason?.toReason())
        }
    }

// No code without a class: the compiler refuses an incomplete `when`.
private fun exceptionOf(code: Code, text: String, cause: Throwable?, reason: Reason?): IncumbentException =
    when (code) {
        Code.TERM_ENDED -> TermEndedException(reason ?: Reason.EXPIRED, text, cause)
        // generated: classes
        Code.INVALID_URL -> InvalidUrlException(text, cause)
        Code.INVALID_SETTING -> InvalidSettingException(text, cause)
        Code.INVALID_NAME -> InvalidNameException(text, cause)
        Code.AUTHENTICATION -> AuthenticationException(text, cause)
        Code.STORE_UNAVAILABLE -> StoreUnavailableException(text, cause)
        Code.PERMISSION_DENIED -> PermissionDeniedException(text, cause)
        Code.NOT_FOUND -> NotFoundException(text, cause)
        Code.UNSAFE_STORE -> UnsafeStoreException(text, cause)
        Code.UNSUPPORTED -> UnsupportedException(text, cause)
        Code.CLOSED -> ClosedException(text, cause)
        Code.FORKED -> ForkedException(text, cause)
        Code.NOT_LEADER -> NotLeaderException(text, cause)
        Code.BROKEN -> BrokenException(text, cause)
        Code.TIMED_OUT -> TimedOutException(text, cause)
        Code.INTERNAL -> InternalException(text, cause)
        // end of classes
    }

/** Calls the compiled part, and translates its failure. */
internal inline fun <T> translating(call: () -> T): T =
    try {
        call()
    } catch (failure: Failure) {
        throw failure.toException()
    }
