package incumbent

import com.sun.jna.Native
import java.lang.ref.Reference

/**
 * Values that a program may read at every turn of a loop: functions of the compiled part that take and return one
 * number each. They allocate nothing. A generated call allocates here, and natively for its status, which JNA's single
 * cleaning thread frees later.
 *
 * An address belongs to a generated object, which owns the memory behind it. It may be used as long as that object
 * exists: the object is kept together with its address, read through [reading], and not destroyed by hand while calls may
 * begin, so only the garbage collector and the end of all calls decide its end.
 */
internal object Readings {
    init {
        // The same library, by the same name, as for the generated code.
        val library = System.getProperty("uniffi.component.incumbent.libraryOverride") ?: "incumbent_uniffi"
        Native.register(Readings::class.java, library)
    }

    external fun incumbent_candidate_is_leader(candidate: Long): Int

    external fun incumbent_term_is_current(term: Long): Int

    external fun incumbent_term_remaining(term: Long): Long

    external fun incumbent_term_age(term: Long): Long

    external fun incumbent_term_drain_remaining(term: Long): Long
}

/**
 * Reads from the object `raw`, and keeps it reachable until the compiled part has answered. After [shutDown] the answer is
 * `over`.
 */
internal inline fun <T> reading(raw: Any, over: T, read: () -> T): T {
    val answer = Calls.callOr(over) { read() }
    Reference.reachabilityFence(raw)
    return answer
}
