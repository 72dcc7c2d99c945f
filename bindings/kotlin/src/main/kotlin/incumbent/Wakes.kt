package incumbent

import com.sun.jna.CallbackThreadInitializer
import com.sun.jna.Native
import incumbent.raw.uniffiRustFutureContinuationCallbackImpl

/** The thread of the compiled part that wakes coroutines. */
internal object Wakes {
    init {
        // It stays attached: by default it would be attached and detached for every wake. As a daemon it does not keep the
        // virtual machine running.
        val staying = CallbackThreadInitializer(true, false, "incumbent-wake")
        Native.setCallbackThreadInitializer(uniffiRustFutureContinuationCallbackImpl, staying)
    }

    /** Prepares it, before the first wait. */
    fun prepare(): Unit = Unit
}
