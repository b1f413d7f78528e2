package io.jccl.nativelib;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class LogDrainTest {

    private final LoggerContext context = new LoggerContext();
    private final ListAppender<ILoggingEvent> events = new ListAppender<>();

    LogDrainTest() {
        events.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(ch.qos.logback.classic.Level.TRACE);
        root.addAppender(events);
    }

    @Test
    void everyRecordGoesToTheLoggerOfItsSubsystemAtItsLevel() {
        Queue<String> records = new ArrayDeque<>(List.of("0 shm a", "2 net peer=3 lost", "4 engine "));

        new LogDrain(records::poll, () -> 0, context::getLogger).drain();

        assertThat(events.list)
                .extracting(event -> event.getLevel() + " " + event.getLoggerName() + " " + event.getFormattedMessage())
                .containsExactly("TRACE io.jccl.shm a", "INFO io.jccl.net peer=3 lost", "ERROR io.jccl.engine ");
    }

    @Test
    void lostRecordsAreReportedOnce() {
        LogDrain drain = new LogDrain(() -> null, () -> 7, context::getLogger);

        drain.drain();
        drain.drain();

        assertThat(events.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("dropped=7 native log records: more came than could be taken");
    }

    @Test
    void theLowestLevelIsTheOneThatTheLoggerLetsThrough() {
        Logger logger = context.getLogger("io.jccl");
        logger.setLevel(ch.qos.logback.classic.Level.WARN);

        assertThat(LogDrain.lowest(logger)).isEqualTo(3);
    }
}
