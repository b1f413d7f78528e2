package io.jccl.config;

import java.util.List;
import java.util.stream.Stream;

/** Every setting that JCCL has: those of all groups. A group is a class, and a heading of the documentation. */
public final class Registry {

    private static final List<Setting<?>> ALL = Stream.of(
                    LaunchSettings.all(),
                    TimeSettings.all(),
                    AlgorithmSettings.all(),
                    MemorySettings.all(),
                    TransportSettings.all(),
                    NetworkSettings.all(),
                    IbSettings.all(),
                    TopologySettings.all(),
                    CommandSettings.all())
            .<Setting<?>>flatMap(List::stream)
            .toList();

    private Registry() {}

    /** All settings in the order of the documentation. */
    public static List<Setting<?>> all() {
        return ALL;
    }
}
