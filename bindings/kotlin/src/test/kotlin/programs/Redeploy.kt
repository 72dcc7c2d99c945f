/**
 * Leads in class loaders of their own, one after another, as in a server that deploys an application again and again, and
 * prints what is left of them: programs.RedeployKt
 */
package programs

import incumbent.ClosedException
import incumbent.Preset
import incumbent.close
import incumbent.connect
import incumbent.shutDown
import java.io.File
import java.lang.ref.WeakReference
import java.net.URLClassLoader
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.async
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.yield

/** The application. */
class Deployed : Runnable {
    override fun run(): Unit = runBlocking {
        val store = connect("memory:")
        val candidate = store.campaign("jobs") {
            preset = Preset.FAST
            splay = 0.seconds
        }
        val second = store.campaign("jobs") {
            name = "second"
            preset = Preset.FAST
            splay = 0.seconds
        }
        candidate.nextTerm()!!.close()
        // The first candidate still leads when this wait begins, so the wait needs a wake to end.
        val follows = async { second.nextTerm()!! }
        yield()
        candidate.close()
        follows.await().close()
        shutDown()
        val refused = runCatching { connect("memory:") }.exceptionOrNull() is ClosedException
        println("undeployed ${candidate.state} ${candidate.isLeader} $refused")
    }
}

private fun deploy(places: Array<java.net.URL>): WeakReference<ClassLoader> =
    URLClassLoader(places, ClassLoader.getPlatformClassLoader()).use { loader ->
        val application = loader.loadClass("programs.Deployed").getDeclaredConstructor().newInstance() as Runnable
        thread(contextClassLoader = loader) { application.run() }.join()
        WeakReference(loader)
    }

private fun ours() = Thread.getAllStackTraces().keys.map { it.name }.filter { it.startsWith("incumbent-") }.sorted()

fun main() {
    val places = System.getProperty("java.class.path").split(File.pathSeparator).map { File(it).toURI().toURL() }
    repeat(3) { deploy(places.toTypedArray()) }
    val limit = System.nanoTime() + 60.seconds.inWholeNanoseconds
    while (ours().isNotEmpty() && System.nanoTime() < limit) {
        Thread.onSpinWait()
    }
    println("threads ${ours()}")
}
