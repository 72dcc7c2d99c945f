/** Applications that a server deploys again and again, each in a class loader of its own. */
package incumbent

import java.io.File
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RedeployTest {
    /** Deploys the application in class loaders of their own, as often as that, and returns what is resident after each time. */
    private fun deployed(application: String, times: Int, path: List<String>): List<Long> =
        Program(*java("programs.RedeployKt", application, "$times", *path.toTypedArray())).use { server ->
            val resident = List(times) {
                assertEquals("CLOSED false false 5", server.expect("undeployed"), "closed, and five calls refused")
                server.expect("resident").toLong()
            }
            assertEquals("0", server.expect("left"))
            assertEquals("0", server.expect("threads"))
            assertEquals(0, server.ended())
            resident
        }

    private val classPath = System.getProperty("java.class.path").split(File.pathSeparator)

    /** The jar that `mvn package` made of that folder of classes. */
    private fun jar(classes: File): String {
        val jars = classes.parentFile.listFiles().orEmpty().filter { it.name.matches(Regex("""incumbent-[0-9.]+\.jar""")) }
        return checkNotNull(jars.singleOrNull()) { "run `cargo xtask test kotlin`, which makes the jar" }.path
    }

    @Test
    fun `a class loader with a copy of the library is let go, with its threads, after a shutdown amid calls`() {
        deployed("programs.Deployed", 3, classPath.map { if (File(it).name == "classes") jar(File(it)) else it })
    }

    @Test
    fun `class loaders that share the compiled part are let go, and leave no memory`() {
        val resident = deployed("programs.Deployed", 12, classPath)
        // The first are a warm-up. Each of the later ones leaves less than 1 MB, of JNA's and of the engine.
        assertTrue(resident.last() - resident[3] < 20, "$resident")
    }

    @Test
    fun `a call that does not return keeps what it uses, and is logged`() {
        Program(*java("programs.UnfinishedKt")).use { program ->
            val kept = "shutDown(): the class loader is kept, by calls of the compiled part that did not return"
            assertEquals(kept, program.expect("logged"))
            assertEquals("true", program.expect("registered"))
            assertEquals(0, program.ended())
        }
    }

    @Test
    fun `an application of Spring that ends with a bean of shutDown is let go`() {
        deployed("programs.DeployedInSpring", 3, classPath)
    }
}
