package io.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.Extension;

class ThreadDumpOnTimeoutTest {

    @Test
    void isRegisteredForAllTests() {
        List<Class<?>> registered = ServiceLoader.load(Extension.class).stream()
                .<Class<?>>map(ServiceLoader.Provider::type)
                .toList();

        assertThat(registered).contains(ThreadDumpOnTimeout.class);
    }

    @Test
    void theDumpNamesTheTestItsThreadAndTheStackOfEveryThread() {
        Thread waiter = new Thread(() -> {}, "waiter");
        StackTraceElement[] stack = {new StackTraceElement("Engine", "run", "Engine.java", 7)};

        assertThat(ThreadDumpOnTimeout.dump("test:x", "main", Map.of(waiter, stack)))
                .isEqualTo("time-out of test:x in thread \"main\"; all threads:\n\"waiter\" NEW\n    at"
                        + " Engine.run(Engine.java:7)");
    }
}
