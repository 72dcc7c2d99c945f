/** Shuts the library down while a call of the compiled part does not return, and prints what is logged: programs.UnfinishedKt */
package programs

import com.sun.jna.Native
import incumbent.Calls
import incumbent.connect
import incumbent.raw.UniffiNatives
import incumbent.shutDown
import java.util.concurrent.CountDownLatch
import java.util.logging.Handler
import java.util.logging.LogRecord
import java.util.logging.Logger
import kotlin.concurrent.thread
import kotlinx.coroutines.runBlocking

fun main(): Unit = runBlocking {
    // The virtual machine may forget a logger that nothing refers to.
    val logger = Logger.getLogger("incumbent")
    logger.addHandler(object : Handler() {
        override fun publish(record: LogRecord) = println("logged ${record.message}")

        override fun flush() = Unit

        override fun close() = Unit
    })
    connect("memory:")
    val begun = CountDownLatch(1)
    val returned = CountDownLatch(1)
    val caller = thread {
        Calls.call {
            begun.countDown()
            returned.await()
        }
    }
    begun.await()
    shutDown()
    println("registered ${Native.registered(UniffiNatives::class.java)}")
    returned.countDown()
    caller.join()
}
