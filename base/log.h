// The journal. Every line has a priority, a stable message id that docs/journal-messages.md explains, and named fields.
//
// Under systemd the lines go to journald with their fields (NRD_MESSAGE=..., NRD_WORKLOAD=...); elsewhere to stderr as
// one line of text. journalctl and systemctl status print no fields, so the text for journald repeats them. Any thread
// may call. Text from outside is escaped, so that clients cannot forge lines.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace nrd::log {

enum class Priority { Error = 3, Warning = 4, Notice = 5, Info = 6, Debug = 7 };  // syslog(3)

using Field = std::pair<std::string_view, std::string>;  // upper-case name without prefix, value

// Lines below `lowest` are dropped. Info unless set. Any thread.
void set_lowest(Priority lowest);

// True if stderr is a stream to the journal.
bool goes_to_journal();

// What journalctl prints. Text: it says what the fields say.
enum class Shown { TextAndFields, Text };

void write(Priority priority, std::string_view message_id, std::string_view text, std::span<const Field> fields = {},
           Shown shown = Shown::TextAndFields);

inline void error(std::string_view id, std::string_view text, std::initializer_list<Field> fields = {}) {
  write(Priority::Error, id, text, std::span(fields.begin(), fields.size()));
}
inline void warning(std::string_view id, std::string_view text, std::initializer_list<Field> fields = {},
                    Shown shown = Shown::TextAndFields) {
  write(Priority::Warning, id, text, std::span(fields.begin(), fields.size()), shown);
}
inline void notice(std::string_view id, std::string_view text, std::initializer_list<Field> fields = {},
                   Shown shown = Shown::TextAndFields) {
  write(Priority::Notice, id, text, std::span(fields.begin(), fields.size()), shown);
}
inline void info(std::string_view id, std::string_view text, std::initializer_list<Field> fields = {}) {
  write(Priority::Info, id, text, std::span(fields.begin(), fields.size()));
}
inline void debug(std::string_view id, std::string_view text, std::initializer_list<Field> fields = {}) {
  write(Priority::Debug, id, text, std::span(fields.begin(), fields.size()));
}

}  // namespace nrd::log
