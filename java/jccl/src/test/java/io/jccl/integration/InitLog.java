package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Collects what ranks log while they initialise, or the records of another logger of the library. */
final class InitLog implements AutoCloseable {

    private final Logger logger;
    private final Level before;
    private final ListAppender<ILoggingEvent> appender = new ListAppender<>();

    InitLog() {
        this("io.jccl.init");
    }

    InitLog(String name) {
        logger = (Logger) LoggerFactory.getLogger(name);
        before = logger.getLevel();
        logger.setLevel(Level.DEBUG); // overrides the level in Logback's configuration
        appender.start();
        logger.addAppender(appender);
    }

    List<String> lines() {
        synchronized (appender) { // the appender locks itself while it appends
            return appender.list.stream()
                    .map(ILoggingEvent::getFormattedMessage)
                    .toList();
        }
    }

    /** Waits until a line that begins with the text has been logged. */
    void await(String text, Duration limit) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (lines().stream().noneMatch(line -> line.startsWith(text))) {
            assertThat(System.nanoTime())
                    .as(() -> text + " is not in " + lines())
                    .isLessThan(end);
            Thread.sleep(1);
        }
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setLevel(before);
    }
}
