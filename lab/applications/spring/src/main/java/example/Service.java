// Spring Boot with its web server: a bean leads with the life of the context.

package example;

import incumbent.CampaignSettings;
import incumbent.Term;
import incumbent.spring.LeaderLifecycle;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Locale;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
public class Service {
    @Bean
    LeaderLifecycle relay(@Value("${ELECTIONS}") String store, @Value("${ELECTION}") String election) {
        return new LeaderLifecycle(store, election, this::work, new CampaignSettings().splay(Duration.ZERO));
    }

    private void work(Term term) {
        try {
            while (!term.isDraining() && step(term)) {
                Thread.sleep(50);
            }
        } catch (InterruptedException ended) {
            // The term has ended.
        }
    }

    /** Writes a line, if the term is current: it was, at the time that was read before. */
    private boolean step(Term term) {
        var at = System.nanoTime();
        if (!term.isCurrent()) {
            return false;
        }
        var pid = ProcessHandle.current().pid();
        var line = String.format(Locale.ROOT, "work %s %d %.9f%n", term.getToken(), pid, at / 1e9);
        try {
            var file = Path.of(System.getenv("WORK"));
            Files.writeString(file, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return true;
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Service.class, arguments);
    }
}
