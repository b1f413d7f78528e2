package io.jccl.config;

import static io.jccl.config.ValueTypes.text;

import java.util.List;
import java.util.Optional;

/** Settings of tuner plug-ins and profiler plug-ins. */
public final class PluginSettings {

    private static final String NONE = "none";
    private static final String EXPECTED = "a path, the name of a library, or none";
    private static final SettingGroup GROUP = new SettingGroup("Plug-ins");

    public static final Setting<String> TUNER_PLUGIN = GROUP.add(
            "JCCL_TUNER_PLUGIN",
            "NCCL_TUNER_PLUGIN",
            text(EXPECTED),
            "",
            "A tuner plug-in with NCCL's interface, which can change the algorithms, protocols and channels that the"
                    + " cost model chooses: a path, the name of a library, NAME of `libnccl-tuner-NAME.so`, or `none`."
                    + " Unset: `libnccl-tuner.so`, if the loader finds it, or else the tuner in the network plug-in's"
                    + " library. Rank 0 asks the plug-in, and all ranks use its answers. See docs/plugins.md.");

    public static final Setting<String> PROFILER_PLUGIN = GROUP.add(
            "JCCL_PROFILER_PLUGIN",
            "NCCL_PROFILER_PLUGIN",
            text(EXPECTED),
            "",
            "A profiler plug-in with NCCL's interface, which gets an event for each operation: a path, the name of a"
                    + " library, NAME of `libnccl-profiler-NAME.so`, or `none`. Unset: none. See docs/plugins.md.");

    private PluginSettings() {}

    /**
     * Returns the value of a plug-in setting: a name, or an empty text for the default plug-in. Returns
     * {@link Optional#empty} if the value is {@code none}.
     */
    public static Optional<String> named(Settings settings, Setting<String> setting) {
        return Optional.of(settings.get(setting)).filter(name -> !name.equalsIgnoreCase(NONE));
    }

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}
