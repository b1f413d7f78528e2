package io.jccl.config;

import java.util.ArrayList;
import java.util.List;

/** All settings of JCCL. Each group is a class here and a heading of the documentation. */
public final class Registry {

    private static final List<Setting<?>> ALL = together(List.of(
            LaunchSettings.all(),
            TimeSettings.all(),
            StatusSettings.all(),
            AlgorithmSettings.all(),
            MemorySettings.all(),
            TransportSettings.all(),
            NetworkSettings.all(),
            IbSettings.all(),
            TopologySettings.all(),
            PluginSettings.all(),
            RecorderSettings.all(),
            CommandSettings.all()));

    private Registry() {}

    private static List<Setting<?>> together(List<List<Setting<?>>> groups) {
        List<Setting<?>> all = new ArrayList<>();
        for (List<Setting<?>> group : groups) {
            all.addAll(group);
        }
        return List.copyOf(all);
    }

    /** Returns all settings in the order of the documentation. */
    public static List<Setting<?>> all() {
        return ALL;
    }
}
