package io.jccl.config;

import java.util.ArrayList;
import java.util.List;

/** Collects the settings that are documented under one heading, in the order in which they are declared. */
final class SettingGroup {

    private final String heading;
    private final List<Setting<?>> settings = new ArrayList<>();

    SettingGroup(String heading) {
        this.heading = heading;
    }

    /** Adds a setting with one alias, NCCL's name or a former name; {@code alias} is empty for none. */
    <T> Setting<T> add(String name, String alias, ValueType<T> type, T defaultValue, String documentation) {
        return add(name, alias.isEmpty() ? List.of() : List.of(alias), type, defaultValue, documentation);
    }

    /** Adds a setting with several aliases. */
    <T> Setting<T> add(String name, List<String> aliases, ValueType<T> type, T defaultValue, String documentation) {
        return add(new Setting<>(name, aliases, heading, type, defaultValue, defaultValue, documentation));
    }

    /** Adds a setting with one alias and with a separate default between GPUs. */
    <T> Setting<T> add(
            String name, String alias, ValueType<T> type, T defaultValue, T deviceDefault, String documentation) {
        return add(new Setting<>(name, List.of(alias), heading, type, defaultValue, deviceDefault, documentation));
    }

    private <T> Setting<T> add(Setting<T> setting) {
        settings.add(setting);
        return setting;
    }

    List<Setting<?>> settings() {
        return List.copyOf(settings);
    }
}
