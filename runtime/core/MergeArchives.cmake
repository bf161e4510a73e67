# Makes OUTPUT of all members of PARTS.
set(script "create ${OUTPUT}\n")
foreach(part ${PARTS})
  string(APPEND script "addlib ${part}\n")
endforeach()
string(APPEND script "save\nend\n")
file(WRITE ${OUTPUT}.mri "${script}")
file(REMOVE ${OUTPUT})
execute_process(COMMAND ${AR} -M INPUT_FILE ${OUTPUT}.mri COMMAND_ERROR_IS_FATAL ANY)
